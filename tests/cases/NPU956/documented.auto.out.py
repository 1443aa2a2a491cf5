from paddleocr import PaddleOCR

ocr = PaddleOCR(lang="en", use_gpu=False, use_npu=True)
