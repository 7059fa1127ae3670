# Almost nothing: no Python, no git, no bash. Run /testbed/check.sh; it writes out/report.xml.
FROM scratch
COPY busybox /bin/busybox
RUN ["/bin/busybox", "mkdir", "-p", "/etc", "/root", "/sbin", "/usr/bin", "/usr/sbin"]
RUN ["/bin/busybox", "--install", "-s"]
RUN echo "root:x:0:0:root:/root:/bin/sh" >/etc/passwd && mkdir -m 1777 /tmp
WORKDIR /testbed
COPY check.sh check.sh
RUN echo 41 >value.txt
