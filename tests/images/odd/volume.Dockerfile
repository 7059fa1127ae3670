# The repo lies in a volume: a container gets a copy that no image layer holds.
FROM repair-test/odd-plain:1
VOLUME /testbed
