"""Pictures of what came out: figures, movies, labelled datasets.

matplotlib and xarray are imported when something is drawn, not before.
"""
