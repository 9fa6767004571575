/*
 * Linux has no zones or jails, so zonename, jid and jailname are constant.
 * @flags: -q
 */
BEGIN { printf("[%s] %d [%s]\n", zonename, jid, jailname); exit(0); }
