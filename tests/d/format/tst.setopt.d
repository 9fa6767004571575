/*
 * setopt() changes the format of all later records.
 * @flags: -x format=json -q
 * @replace: "time":\d+,"cpu":\d+ -> "time":T,"cpu":C
 */
BEGIN { trace(1); setopt("format", "text"); trace(2); }
BEGIN { printf("as text\n"); setopt("format", "json"); exit(0); }
