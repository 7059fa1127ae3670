# git is there and the snapshot is no repo.
FROM repair-test/odd-plain:1
RUN rm -rf .git
