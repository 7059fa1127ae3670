#!/bin/sh
# A test suite without Python: value.txt should hold 42. Writes out/report.xml; exits 1 when a test failed.
status=0 failures=0 failure=
if [ "$(cat value.txt)" != 42 ]; then
  status=1 failures=1 failure='<failure message="value.txt does not hold 42"/>'
fi
mkdir -p out
cat >out/report.xml <<END
<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="suite" tests="3" failures="$failures" errors="0" skipped="1">
  <testcase classname="suite" name="value_is_42" time="0">$failure</testcase>
  <testcase classname="suite" name="always" time="0"/>
  <testcase classname="suite" name="skippy" time="0"><skipped message="not here"/></testcase>
</testsuite>
END
exit $status
