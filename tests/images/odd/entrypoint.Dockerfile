# An entry point of its own that ends whatever is asked of it.
FROM repair-test/odd-plain:1
ENTRYPOINT ["/bin/sh", "-c", "echo entry; exit 7"]
