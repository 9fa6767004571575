/* An action is not an aggregating function, also one that only the kernel has. */
BEGIN { @a["x"] = breakpoint(); }
