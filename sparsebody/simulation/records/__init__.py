"""What a motion leaves: trajectories in memory and in HDF5 files, their structure, checked."""
