/*
 * In JSON, errors and drops are also objects, in the order in which they occur.
 * @flags: -x format=json -x nspec=1
 * @replace: "time":\d+, -> "time":T,
 * @replace: "cpu":\d+ -> "cpu":C
 * @replace: DIF offset \d+ -> DIF offset N
 */
BEGIN { trace(*(int *)8); }
BEGIN { speculation(); speculation(); exit(0); }
