/*
 * So is a variable, by one of its attributes alone.
 * @flags: -x amin=Stable/Stable/Common
 */
#pragma D attributes Standard/Standard/ISA x
BEGIN { x = 1; exit(0); }
