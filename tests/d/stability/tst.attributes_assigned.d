/*
 * #pragma D attributes also applies to a variable that an assignment creates.
 * @flags: -e -v
 * @stderr
 */
BEGIN { x[1] = 2; }
#pragma D attributes Obsolete/Obsolete/Group x
