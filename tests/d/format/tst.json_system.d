/*
 * The output of a system() command is not among the records: it goes to stderr.
 * @flags: -x format=json -w
 * @stderr
 * @replace: "time":\d+,"cpu":\d+ -> "time":T,"cpu":C
 */
BEGIN { trace(1); system("echo from the command"); trace(2); exit(0); }
