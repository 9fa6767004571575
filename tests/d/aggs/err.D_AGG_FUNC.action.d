/* An action is not an aggregating function, even if it needs the kernel module. */
BEGIN { @a["x"] = breakpoint(); }
