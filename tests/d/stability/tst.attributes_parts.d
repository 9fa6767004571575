/*
 * For each of the three attributes separately, the report shows the weakest.
 * @flags: -e -v
 * @stderr
 */
#pragma D attributes Standard/Private/Common x
#pragma D attributes unstable/standard/isa y
int x, y;
BEGIN { trace(x + y); }
