/*
 * Each of the three attributes is the weakest by itself.
 * @flags: -e -v
 * @stderr
 */
#pragma D attributes Standard/Private/Common x
#pragma D attributes unstable/standard/isa y
int x, y;
BEGIN { trace(x + y); }
