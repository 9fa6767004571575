/*
 * A variable without attributes is Stable, which is less stable than Standard.
 * @flags: -x amin=Standard/Stable/Common
 */
#pragma D attributes Standard/Standard/Common provider dtrace provider
#pragma D attributes Standard/Standard/Common provider dtrace name
provider dtrace { probe BEGIN(); };
BEGIN { self->x = 1; }
