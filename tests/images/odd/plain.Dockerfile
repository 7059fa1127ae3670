# What an ordinary task's image looks like: root, a git repo in /testbed, pytest 8.4 first on PATH.
FROM repair-test/pytests:1
ENV PATH=/venv/p84/bin:$PATH PYTHONPATH=/testbed
COPY calc.py.txt /testbed/calc.py
COPY test_calc.py.txt /testbed/tests/test_calc.py
RUN git init -q -b main && git add . && \
    GIT_AUTHOR_DATE=2024-01-01T00:00:00Z GIT_COMMITTER_DATE=2024-01-01T00:00:00Z \
    git -c user.name=Builder -c user.email=builder@example.org commit -q -m "The snapshot"
