/*
 * The attributes of a part of a provider are those of its probes.
 * @flags: -e -v
 * @stderr
 */
provider dtrace { probe BEGIN(); };
#pragma D attributes Evolving/Private/ISA provider dtrace name
#pragma D attributes Internal/Internal/CPU provider dtrace args
BEGIN { trace(pid); }
