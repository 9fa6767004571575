/*
 * In JSON, bit-fields are shown according to their types.
 * @flags: -x format=json
 * @replace: "time":\d+,"cpu":\d+ -> "time":T,"cpu":C
 */
enum kind { first = 1, both = 3 };
struct bits { int low : 4; unsigned high : 4; enum kind k : 3; } b;
BEGIN { b.low = -2; b.high = 14; b.k = both; print(b); exit(0); }
