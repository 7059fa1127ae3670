# Never healthy.
FROM repair-test/odd-plain:1
HEALTHCHECK --interval=1s --timeout=1s --retries=1 CMD ["/bin/false"]
