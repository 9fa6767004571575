/*
 * Tokens need no spaces between them.
 * @flags: -q
 */
BEGIN/1==1&&2>1/{x=1;y=x+++2;z=x-- -1;printf("%d %d %d\n",x,y,z);exit(0);}
