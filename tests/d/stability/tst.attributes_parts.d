/*
 * The report of -v shows the weakest value of each of the three attributes separately.
 * @flags: -e -v
 * @stderr
 */
#pragma D attributes Standard/Private/Common x
#pragma D attributes unstable/standard/isa y
int x, y;
BEGIN { trace(x + y); }
