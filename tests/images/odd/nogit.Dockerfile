# Neither git nor a repo.
FROM repair-test/odd-plain:1
RUN rm -rf .git /usr/bin/git /usr/bin/git-* /usr/lib/git-core
