/*
 * Tabs and blanks at the end of a line are ignored.
 * @flags: -q
 */
BEGIN	{   
	printf("on\n");  	
	exit(0);	}   
