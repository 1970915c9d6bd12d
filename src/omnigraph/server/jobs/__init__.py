"""Work that outlives its request: kept in files of the server, found again by whichever process is there."""
