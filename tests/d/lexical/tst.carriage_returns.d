/*
 * Tabs and spaces at the end of a line are ignored.
 * @flags: -q
 */
BEGIN	{   
	printf("on\n");  	
	exit(0);	}   
