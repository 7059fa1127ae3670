# /venv/<name> for each locks/<name>.txt, on Debian's Python; no pip inside them.
FROM repair/base:bookworm
COPY wheels /tmp/wheels
COPY locks /tmp/locks
RUN set -e; \
    for lock in /tmp/locks/*.txt; do \
      venv=/venv/$(basename "$lock" .txt); \
      python3 -m venv --without-pip "$venv"; \
      pip --quiet --python "$venv/bin/python" --no-cache-dir --disable-pip-version-check \
        install --root-user-action=ignore --no-index --find-links /tmp/wheels --no-deps --require-hashes -r "$lock"; \
    done; \
    rm -r /tmp/wheels /tmp/locks
WORKDIR /testbed
