cat 60
#-----
# Time:
#       74.3768 seconds total
#       1.8323 seconds of transactions (272.88 per second)
# 
# Files:
#       764 created (10.27 per second)
#             Creation alone: 500 files (6.89 per second)
#             Mixed with transactions: 264 files (144.08 per second)
#       243 read (132.62 per second)
#       257 appended (140.26 per second)
#       764 deleted (10.27 per second)
#             Deletion alone: 528 files (7.28 per second)
#             Mixed with transactions: 236 files (128.80 per second)
# 
# Data:
#       1.36 megabytes read (18.72 kilobytes per second)
#       4.45 megabytes written (61.27 kilobytes per second)
#-----
