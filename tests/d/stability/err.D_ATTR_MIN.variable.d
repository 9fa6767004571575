/*
 * A variable is refused even if only one of its attributes is below -x amin.
 * @flags: -x amin=Stable/Stable/Common
 */
#pragma D attributes Standard/Standard/ISA x
BEGIN { x = 1; exit(0); }
