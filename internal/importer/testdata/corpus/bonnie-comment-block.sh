#!/bin/sh

# Version  1.97       ------Sequential Output------ --Sequential Input- --Random-
# Concurrency   1     -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
# Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
# curlew          24G           121234  63 71234  48           212345  45 131.7   6
# Latency                         312ms     822ms              1888ms     411ms

bonnie++ -d /data
