"""The site of npuify's documentation: the pages of ``docs``, and a reference that is generated from code and tables.

python -m tools.site build [-o FOLDER]   # English, and Chinese below zh/; opens offline
python -m tools.site outputs [PAGE...]   # runs the commands on pages again and writes what they print
"""
