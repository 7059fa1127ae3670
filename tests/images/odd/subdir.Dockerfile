# The working directory is a directory of the repo, whose root is /repo; there is no /testbed.
FROM repair-test/pytests:1
ENV PATH=/venv/p84/bin:$PATH PYTHONPATH=/repo/sub
WORKDIR /repo/sub
COPY calc.py.txt calc.py
COPY test_calc.py.txt tests/test_calc.py
RUN rmdir /testbed && echo "The code is in sub/." >/repo/README && cd /repo && git init -q -b main && git add . && \
    GIT_AUTHOR_DATE=2024-01-01T00:00:00Z GIT_COMMITTER_DATE=2024-01-01T00:00:00Z \
    git -c user.name=Builder -c user.email=builder@example.org commit -q -m "The snapshot"
