/*
 * Zones and jails are those of other systems.
 * @flags: -q
 */
BEGIN { printf("[%s] %d [%s]\n", zonename, jid, jailname); exit(0); }
