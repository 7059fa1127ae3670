# -*- coding: utf-8 -*-
raise ValueError("nón")
