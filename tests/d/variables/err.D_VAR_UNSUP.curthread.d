/* If a variable needs the kernel module, the error message contains its name. */
BEGIN { trace(curthread); }
