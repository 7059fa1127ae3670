# A user without a passwd entry who may read the repo, and neither write it nor, for git, own it.
FROM repair-test/odd-plain:1
USER 1000:1000
