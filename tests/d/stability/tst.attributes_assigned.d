/*
 * Attributes are those of a variable that its first assignment makes, too.
 * @flags: -e -v
 * @stderr
 */
BEGIN { x[1] = 2; }
#pragma D attributes Obsolete/Obsolete/Group x
