# The only shell is dash.
FROM repair-test/odd-plain:1
RUN rm -f /usr/bin/bash /usr/bin/rbash
