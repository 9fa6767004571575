/* curpsinfo has only the members that psinfo_t has. */
BEGIN { trace(curpsinfo->pr_nosuch); }
