/* stackdepth needs a kernel. */
BEGIN { trace(stackdepth); }
