/*
 * A variable without attributes of its own is at most Stable.
 * @flags: -x amin=Standard/Stable/Common
 */
#pragma D attributes Standard/Standard/Common provider dtrace provider
#pragma D attributes Standard/Standard/Common provider dtrace name
provider dtrace { probe BEGIN(); };
BEGIN { self->x = 1; }
