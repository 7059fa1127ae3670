# A user with a passwd entry who owns the repo, where tests/ takes no new file and lets none be replaced.
FROM repair-test/odd-plain:1
RUN useradd --uid 1000 --create-home builder && chown -R 1000:1000 /testbed && chmod 0555 /testbed/tests
USER builder
