# Root runs, somebody else owns the repo: git's dubious ownership.
FROM repair-test/odd-plain:1
RUN chown -R 4242:4242 /testbed
