/* The error for a variable that needs the kernel module names the variable. */
BEGIN { trace(curthread); }
