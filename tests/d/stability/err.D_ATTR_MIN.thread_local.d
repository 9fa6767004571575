/*
 * A variable without attributes of its own is only Stable, not Standard.
 * @flags: -x amin=Standard/Stable/Common
 */
#pragma D attributes Standard/Standard/Common provider dtrace provider
#pragma D attributes Standard/Standard/Common provider dtrace name
provider dtrace { probe BEGIN(); };
BEGIN { self->x = 1; }
