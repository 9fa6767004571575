/* An action that needs the kernel module cannot be assigned to an aggregation. */
BEGIN { @a["x"] = breakpoint(); }
