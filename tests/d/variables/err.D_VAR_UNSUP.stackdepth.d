/* stackdepth needs the kernel module. */
BEGIN { trace(stackdepth); }
