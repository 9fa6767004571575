/* curpsinfo has the members that psinfo_t has. */
BEGIN { trace(curpsinfo->pr_nosuch); }
