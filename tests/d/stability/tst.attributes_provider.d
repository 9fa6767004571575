/*
 * A probe description has the attributes of the provider's names, not of the provider's arguments.
 * @flags: -e -v
 * @stderr
 */
provider dtrace { probe BEGIN(); };
#pragma D attributes Evolving/Private/ISA provider dtrace name
#pragma D attributes Internal/Internal/CPU provider dtrace args
BEGIN { trace(pid); }
