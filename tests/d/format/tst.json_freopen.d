/*
 * Values that were recorded before freopen() are written to the previous output.
 * @flags: -x format=json -w
 * @replace: "time":\d+,"cpu":\d+ -> "time":T,"cpu":C
 */
BEGIN { trace(1); freopen("/dev/null"); trace(2); freopen(""); trace(3); exit(0); }
