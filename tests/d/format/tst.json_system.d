/*
 * With format=json, the output of a system() command goes to stderr.
 * @flags: -x format=json -w
 * @stderr
 * @replace: "time":\d+,"cpu":\d+ -> "time":T,"cpu":C
 */
BEGIN { trace(1); system("echo from the command"); trace(2); exit(0); }
